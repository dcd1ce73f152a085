-- key_holders: which live job (waiting, delayed or running) holds each key. Changes nothing.
-- ARGV: prefix, then triples: tenant, type, key
-- Answers: for each triple the job's id, or '' when the key is free.
-- @include args keys
arg_count(4, 3)
local LIVE, answers = {queued = true, started = true, scheduled = true, rate_limited = true}, {}
for i = 2, #ARGV, 3 do
  local id = rcall('GET', k('key', ARGV[i], ARGV[i + 1], ARGV[i + 2]))
  local f = id and rcall('HMGET', 'rq:job:' .. id, 'status', 'jo_tenant_uid') or {}
  local is_live = LIVE[f[1] or ''] and same_tenant(f[2], rcall('HGET', k('tenant', ARGV[i]), 'uid'))
  answers[#answers + 1] = is_live and id or ''
end
return answers
