-- dead_ack: these deaths are committed in the database. Removes exactly these members, so that two readers of one batch
-- never remove what neither has stored. A job that was sent back to run meanwhile keeps its record.
-- ARGV: prefix, ttl_s, member...
-- Answers: how many were removed.
-- @include args keys clock
arg_count(2, 1)
local ttl, removed = arg_int(2, 'ttl_s', 1), 0
for i = 3, #ARGV do
  removed = removed + rcall('ZREM', k('dead'), ARGV[i])
  local id = string.match(ARGV[i], '^(.*):[^:]*$') or ARGV[i]
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'origin')
  if f[1] == 'failed' then
    rcall('EXPIRE', 'rq:job:' .. id, ttl)
    rcall('ZADD', 'rq:failed:' .. (f[2] or ''), 'XX', math.floor(now / 1000) + ttl, id)
  end
end
return removed
