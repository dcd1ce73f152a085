-- Queues with waiters take turns at a gate, by start-time fair queueing: a turn costs 1 / (weight × share of the lane),
-- and who comes in does so at the time of the first, or at its own if that is later. In the turns stand only those
-- whose tenant could start one more, as far as is known. What one owes that left stands in turned, until the ring has
-- passed it, or all are gone.
-- @include foreign

local function turns_enter(gate, queue)
  local turns, turned = k('turns', gate), k('turned', gate)
  if gcall('ZSCORE', turns, queue) then return false end
  local first, time = gcall('ZRANGE', turns, 0, 0, 'WITHSCORES'), 0
  if first[1] then
    time = math.max(tonumber(first[2]), tonumber(gcall('ZSCORE', turned, queue) or 0))
    gcall('ZREM', turned, queue)
  else
    rcall('DEL', turned)
  end
  gcall('ZADD', turns, time, queue)
  return true
end

local function turns_leave(gate, queue)
  local turns, turned = k('turns', gate), k('turned', gate)
  local time = tonumber(gcall('ZSCORE', turns, queue) or '')
  if not time then return end
  gcall('ZREM', turns, queue)
  local first = gcall('ZRANGE', turns, 0, 0, 'WITHSCORES')
  if not first[1] then
    rcall('DEL', turned)
    return
  end
  gcall('ZREMRANGEBYSCORE', turned, '-inf', first[2])
  if time > tonumber(first[2]) then gcall('ZADD', turned, time, queue) end
end

local function turn_cost(weight, lane)
  local share = tonumber(lane and rcall('HGET', k('lanes'), lane) or '') or 1
  return 1 / ((tonumber(weight or '') or 1) * share)
end

local function turns_charge(gate, queue, weight, lane)
  local cost = turn_cost(weight, lane)
  local turns = k('turns', gate)
  local time = tonumber(gcall('ZSCORE', turns, queue) or '')
  if time then gcall('ZADD', turns, time + cost, queue) end
end
