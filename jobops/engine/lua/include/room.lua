-- The waiting room: jobs that may run but for a gate. Such a job stands in the gate's waiting, in its queue's held, and
-- in the line of its queue at that gate, everywhere with the same order: the instant it became runnable, or just after
-- the last of its queue that waits at any gate.
-- @include ring queue gate turns

local STEP = 1 / 1024 -- ms between two of one queue that became runnable in the same one

local function stand_in(id, slug, lane, gate, order)
  local queue = queue_name(slug, lane)
  gcall('ZADD', k('waiting', gate), order, id)
  gcall('ZADD', k('held', queue), order, id)
  gcall('ZADD', k('line', queue, gate), order, id)
  if gcall('SADD', k('lines', queue), gate) == 1 then
    note_gate(gate)
    if rcall('HEXISTS', k('tenant', slug), 'weight') == 1 then note_held(slug, '1') end
  end
end

-- Its order, and the gate that had sent it back ('' or false: none did). first: before all others of its queue that
-- wait. So is one that was pushed to the front; who waited before keeps its order.
local function order_in(id, held, first)
  local f = rcall('HMGET', 'rq:job:' .. id, 'jo_runnable', 'jo_front', 'jo_order', 'jo_back')
  local order, runnable = tonumber(f[3] or ''), whole(f[1], now)
  if first or (not order and f[2] == '1') then
    local head = gcall('ZRANGE', held, 0, 0, 'WITHSCORES')
    return math.min(order or runnable, head[1] and tonumber(head[2]) - STEP or runnable), f[4]
  end
  if order then return order, f[4] end
  local tail = gcall('ZRANGE', held, -1, -1, 'WITHSCORES')
  return tail[1] and math.max(runnable, tonumber(tail[2]) + STEP) or runnable, f[4]
end

-- Answers the gate whose offer it leaves, if there is one: somebody else has to get it.
local function hold(id, slug, lane, gate, first)
  local queue = queue_name(slug, lane)
  local order, back = order_in(id, k('held', queue), first)
  stand_in(id, slug, lane, gate, order)
  rcall('HSET', 'rq:job:' .. id, 'status', 'rate_limited', 'jo_waits', gate, 'jo_order', string.format('%.17g', order),
    'jo_back', '', 'worker_name', '')
  turns_enter(gate, queue)
  return back and back ~= '' and back ~= gate and back
end

local function leave_room(id, slug, lane, gate)
  local queue = queue_name(slug, lane)
  gcall('ZREM', k('waiting', gate), id)
  gcall('ZREM', k('held', queue), id)
  gcall('ZREM', k('line', queue, gate), id)
  if rcall('EXISTS', k('line', queue, gate)) == 1 then return end
  gcall('SREM', k('lines', queue), gate)
  turns_leave(gate, queue)
  for _, each in each_lane() do
    if rcall('EXISTS', k('lines', queue_name(slug, each))) == 1 then return end
  end
  note_held(slug, false)
end

-- Of the jobs at the front of a queue: was one of them sent back there from this gate, and behind which one does
-- another with this order stand (nil: before all)? Older are also those that come again: they had been started before.
local function front_run(queue, gate, order)
  local offered, after = false, nil
  for place = 0, FRONT do
    local id = rcall('LINDEX', 'rq:queue:' .. queue, place)
    local f = id and redis.pcall('HMGET', 'rq:job:' .. id, 'jo_front', 'jo_back', 'jo_order', 'jo_started') or {}
    if f[1] ~= '1' then break end
    if f[2] == gate then offered = true end
    if (tonumber(f[3] or '') or (f[4] and 0 or order)) < order then after = id end
  end
  return offered, after
end

-- Back at the front of its own queue, but behind older ones there (after: the last of them).
-- Answers whether it is; one whose record is gone or says something else only leaves. The one step that can fail, as at
-- a queue of another kind, comes first: then the job waits still.
local function give_back(id, slug, lane, gate, quiet, after)
  local job, queue = 'rq:job:' .. id, 'rq:queue:' .. queue_name(slug, lane)
  if redis.pcall('HGET', job, 'status') ~= 'rate_limited' then
    leave_room(id, slug, lane, gate)
    return false
  end
  if after then rcall('LINSERT', queue, 'AFTER', after, id) else rcall('LPUSH', queue, id) end
  rcall('HSET', job, 'status', 'queued', 'jo_waits', '', 'jo_front', '1', 'jo_back', gate)
  leave_room(id, slug, lane, gate)
  rcall('SADD', 'rq:queues', queue)
  ring_enter(slug, lane, quiet)
  return true
end
