-- dead_batch: the oldest deaths that are not in the database yet, with their jobs' hashes. Changes nothing.
-- ARGV: prefix, limit, max_bytes (the batch ends early, after at least one, when its hashes are larger together)
-- Answers: flat triples: member, died_at_ms, hash as flat pairs (empty when it vanished)
-- @include args keys
arg_count(3)
local limit, left, answer = arg_int(2, 'limit', 1), arg_int(3, 'max_bytes', 1), {}
local members = rcall('ZRANGE', k('dead'), 0, limit - 1, 'WITHSCORES')
for i = 1, #members, 2 do
  local id = string.match(members[i], '^(.*):[^:]*$') or members[i]
  answer[#answer + 1] = members[i]
  answer[#answer + 1] = members[i + 1]
  local fields = rcall('HGETALL', 'rq:job:' .. id)
  answer[#answer + 1] = fields
  for _, part in ipairs(fields) do left = left - #part end
  if left <= 0 then break end
end
return answer
