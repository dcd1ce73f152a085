-- promote: moves delayed jobs that are due to the end of their queues.
-- ARGV: prefix, limit, min_interval_ms (skip when somebody promoted less than this ago; while more is due than one call
--       moves, less than PACE_MS: the fleet's calls together must leave Redis to others)
-- Answers: {moved, next_due_ms (-1: none), skipped (1/0)}
-- Events: wake-up tokens.
-- @include args keys relief clock ring queue parked
arg_count(3)
local limit, interval = arg_int(2, 'limit', 1), arg_int(3, 'min_interval_ms', 0)
local PACE_MS = 2
local c = rcall('HMGET', CELL, 'promote_tick', 'promote_more')
local tick = tonumber(c[1] or 0)
if interval > 0 and now >= tick and now - tick < (c[2] == '1' and math.min(PACE_MS, interval) or interval) then
  return {0, -1, 1}
end
needs_no_memory()
local due = rcall('ZRANGEBYSCORE', SCHEDULED, '-inf', string.format('%.3f', now / 1000), 'LIMIT', 0, limit)
rcall('HSET', CELL, 'promote_tick', now_text, 'promote_more', #due == limit and '1' or '')
if now < tick then park_anew() end -- the clock was set back: nobody waits for it to come to where it was

local moved, at_end, order = 0, {}, {} -- at_end: queue → ids, in the order of time

local function move(id)
  local f = rcall('HMGET', 'rq:job:' .. id, 'status', 'origin', 'jo_type', 'jo_priority', 'jo_attempt')
  local slug, lane = string.match(f[2] or '', '^(.+)%.([^.]+)$')
  if f[3] and slug then
    if f[1] ~= 'scheduled' then return end -- cancelled or pushed meanwhile: not ours to move
    if f[4] == 'front' and whole(f[5], 0) == 0 then -- a retry has had its turn
      push(id, slug, lane, true)
      moved = moved + 1
      return
    end
    if not at_end[f[2]] then
      at_end[f[2]] = {slug = slug, lane = lane}
      order[#order + 1] = f[2]
    end
    table.insert(at_end[f[2]], id)
  elseif f[2] then
    -- Put there by plain rq-scheduler: to its own queue, as it would.
    rcall('SADD', 'rq:queues', 'rq:queue:' .. f[2])
    rcall('HSET', 'rq:job:' .. id, 'status', 'queued')
    rcall('RPUSH', 'rq:queue:' .. f[2], id)
    moved = moved + 1
  end
end

local MANY = 1000 -- arguments in one call
local function in_parts(command, key, ids)
  for first = 1, #ids, MANY do rcall(command, key, unpack(ids, first, math.min(first + MANY - 1, #ids))) end
end

local function push_all(ids, slug, lane)
  local queue = 'rq:queue:' .. queue_name(slug, lane)
  in_parts('RPUSH', queue, ids)
  for _, id in ipairs(ids) do
    rcall('HSET', 'rq:job:' .. id, 'status', 'queued', 'jo_runnable', now_text, 'jo_front', '')
  end
  rcall('SADD', 'rq:queues', queue)
  rcall('ZADD', k('active', lane), 'NX', now_text, slug)
  if not ring_enter(slug, lane, true, true) then return end
  for _ = 1, math.min(#ids, rcall('ZCARD', k('idle', lane))) do wake(lane) end
end

in_parts('ZREM', SCHEDULED, due)
for _, id in ipairs(due) do pcall(move, id) end -- one malformed key must not stop all others
for _, queue in ipairs(order) do
  local ids = at_end[queue]
  local fine = pcall(push_all, ids, ids.slug, ids.lane)
  if fine then moved = moved + #ids end
end
local head = rcall('ZRANGE', SCHEDULED, 0, 0, 'WITHSCORES')
return {moved, head[2] and math.ceil(tonumber(head[2]) * 1000) or -1, 0}
