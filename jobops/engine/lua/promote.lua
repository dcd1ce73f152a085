-- promote: moves delayed jobs that are due to the end of their queues.
-- ARGV: prefix, limit, min_interval_ms (skip when somebody promoted less than this ago)
-- Answers: {moved, next_due_ms (-1: none), skipped (1/0)}
-- Events: wake-up tokens.
-- @include args keys relief clock ring queue
arg_count(3)
local limit, interval = arg_int(2, 'limit', 1), arg_int(3, 'min_interval_ms', 0)
local tick = tonumber(rcall('HGET', CELL, 'promote_tick') or 0)
if interval > 0 and now - tick < interval and now >= tick then return {0, -1, 1} end
needs_no_memory()
rcall('HSET', CELL, 'promote_tick', now)

local function move(id)
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'origin', 'jo_type', 'jo_priority', 'jo_attempt')
  local slug, lane = string.match(f[2] or '', '^(.+)%.([^.]+)$')
  if f[3] and slug then
    if f[1] ~= 'scheduled' then return 0 end -- cancelled or pushed meanwhile: not ours to move
    push(id, slug, lane, f[4] == 'front' and whole(f[5], 0) == 0) -- a retry has had its turn
    return 1
  end
  if not f[2] then return 0 end
  -- Put there by plain rq-scheduler: to its own queue, as it would.
  rcall('SADD', 'rq:queues', 'rq:queue:' .. f[2])
  rcall('HSET', 'rq:job:' .. id, 'status', 'queued')
  rcall('RPUSH', 'rq:queue:' .. f[2], id)
  return 1
end

local moved = 0
local due = rcall('ZRANGEBYSCORE', SCHEDULED, '-inf', string.format('%.3f', now / 1000), 'LIMIT', 0, limit)
for _, id in ipairs(due) do
  rcall('ZREM', SCHEDULED, id)
  local fine, count = pcall(move, id) -- one malformed key must not stop all others
  if fine then moved = moved + count end
end
local head = rcall('ZRANGE', SCHEDULED, 0, 0, 'WITHSCORES')
return {moved, head[2] and math.ceil(tonumber(head[2]) * 1000) or -1, 0}
