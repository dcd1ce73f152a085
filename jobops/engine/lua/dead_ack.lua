-- dead_ack: these deaths are committed in the database. Removes exactly these members, so that two readers of one batch
-- never remove what neither has stored. A job that was sent back to run meanwhile keeps its record; of the others the
-- record keeps head and tail of a long traceback only, as a burst of failures must not fill the memory for days.
-- ARGV: prefix, ttl_s, member...
-- Answers: how many were removed.
-- @include args keys clock
arg_count(2, 1)
local KEPT = 4096 -- bytes of a traceback's head, and of its tail
local ttl, removed = arg_int(2, 'ttl_s', 1), 0
for i = 3, #ARGV do
  removed = removed + rcall('ZREM', k('dead'), ARGV[i])
  local id = string.match(ARGV[i], '^(.*):[^:]*$') or ARGV[i]
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'origin', 'exc_info')
  if f[1] == 'failed' then
    if f[3] and #f[3] > 2 * KEPT + 8 then
      rcall('HSET', 'rq:job:' .. id, 'exc_info', string.sub(f[3], 1, KEPT) .. ' [cut] ' .. string.sub(f[3], -KEPT))
    end
    rcall('EXPIRE', 'rq:job:' .. id, ttl)
    rcall('ZADD', 'rq:failed:' .. (f[2] or ''), 'XX', math.floor(now / 1000) + ttl, id)
  end
end
return removed
