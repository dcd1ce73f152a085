-- key_holders: which live job (waiting, delayed or running) holds each key. Changes nothing.
-- ARGV: prefix, then triples: tenant, type, key
-- Answers: for each triple the job's id, or '' when the key is free.
-- @include args keys
arg_count(4, 3)
local LIVE, answers = {queued = true, started = true, scheduled = true}, {}
for i = 2, #ARGV, 3 do
  local id = rcall('GET', k('key', ARGV[i], ARGV[i + 1], ARGV[i + 2]))
  local status = id and rcall('HGET', 'rq:job:' .. id, 'status')
  answers[#answers + 1] = LIVE[status or ''] and id or ''
end
return answers
