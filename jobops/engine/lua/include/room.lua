-- The waiting room: jobs that may run but for a gate. Such a job stands in the gate's waiting, in its queue's held, and
-- in the line of its queue at that gate, everywhere with the instant it became runnable as its order.
-- @include ring queue gate turns

local STEP = 1 / 1024 -- ms between two of one line that became runnable in the same one

local function stand_in(id, slug, lane, gate, order)
  local queue = queue_name(slug, lane)
  rcall('ZADD', k('waiting', gate), order, id)
  rcall('ZADD', k('held', queue), order, id)
  rcall('ZADD', k('line', queue, gate), order, id)
  if rcall('SADD', k('lines', queue), gate) == 1 then
    note_gate(gate)
    -- The hint by which all others know that there is nothing to look for.
    if rcall('HEXISTS', k('tenant', slug), 'weight') == 1 then rcall('HSET', k('tenant', slug), 'held', '1') end
  end
end

-- first: before all others of its line. So is one that was pushed to the front; who waited before keeps its order.
local function order_in(id, line, first)
  local f = rcall('HMGET', 'rq:job:' .. id, 'jo_runnable', 'jo_front', 'jo_order')
  local order, runnable = tonumber(f[3] or ''), whole(f[1], now)
  if first or (not order and f[2] == '1') then
    local head = rcall('ZRANGE', line, 0, 0, 'WITHSCORES')
    return math.min(order or runnable, head[1] and tonumber(head[2]) - STEP or runnable)
  end
  if order then return order end
  local tail = rcall('ZRANGE', line, -1, -1, 'WITHSCORES')
  return tail[1] and math.max(runnable, tonumber(tail[2]) + STEP) or runnable
end

local function hold(id, slug, lane, gate, first)
  local queue = queue_name(slug, lane)
  local order = order_in(id, k('line', queue, gate), first)
  stand_in(id, slug, lane, gate, order)
  rcall('HSET', 'rq:job:' .. id, 'status', 'rate_limited', 'jo_waits', gate, 'jo_order', string.format('%.17g', order),
    'jo_back', '', 'worker_name', '')
  turns_enter(gate, queue)
end

local function leave_room(id, slug, lane, gate)
  local queue = queue_name(slug, lane)
  rcall('ZREM', k('waiting', gate), id)
  rcall('ZREM', k('held', queue), id)
  rcall('ZREM', k('line', queue, gate), id)
  if rcall('EXISTS', k('line', queue, gate)) == 1 then return end
  rcall('SREM', k('lines', queue), gate)
  turns_leave(gate, queue)
  for _, each in each_lane() do
    if rcall('EXISTS', k('lines', queue_name(slug, each))) == 1 then return end
  end
  rcall('HDEL', k('tenant', slug), 'held')
end

-- First in its own queue again. Answers whether it is; one whose record is gone or says something else only leaves.
local function give_back(id, slug, lane, gate, quiet)
  local job, queue = 'rq:job:' .. id, 'rq:queue:' .. queue_name(slug, lane)
  local waits = rcall('HGET', job, 'status') == 'rate_limited'
  leave_room(id, slug, lane, gate)
  if not waits then return false end
  rcall('LPUSH', queue, id)
  rcall('SADD', 'rq:queues', queue)
  rcall('HSET', job, 'status', 'queued', 'jo_waits', '', 'jo_front', '1', 'jo_back', gate)
  ring_enter(slug, lane, quiet)
  return true
end
