-- Who holds what a waiting job needs, and who gets it before.
-- @include cell turns

local MOST_HOLDERS, MOST_QUEUES = 100, 200

-- The first jobs of a zset of those in flight, flat: id, worker, since (ms), tenant, job type, usual run time and
-- time-out (ms) for each.
local function holders(zset)
  local found = {}
  for _, member in ipairs(rcall('ZRANGE', zset, 0, MOST_HOLDERS - 1)) do
    local id = string.match(member, '^(.-):') or member
    local f = redis.pcall('HMGET', k('lease', id), 'worker', 'started', 'tenant', 'type', 'terms')
    local _, timeout = terms_of(f[5])
    local since = string.format('%.0f', math.floor((tonumber(f[2] or 0) or 0) / 1000))
    local parts = {id, f[1] or '', since, f[3] or '', f[4] or '', f[4] and cell('average:' .. f[4]) or '', timeout or ''}
    for _, part in ipairs(parts) do found[#found + 1] = part end
  end
  return found
end

-- What a turn at a gate costs a queue.
local function cost_of(queue)
  local slug, lane = string.match(queue, '^(.*)%.([^.]*)$')
  return turn_cost(slug and rcall('HGET', k('tenant', slug), 'weight'), lane)
end

-- How many of other queues get through the gate before the one that has so many of its own queue before it; '' when too
-- many queues take turns there to tell.
local function others_before(gate, queue, own)
  local turns = rcall('ZRANGE', k('turns', gate), 0, MOST_QUEUES, 'WITHSCORES')
  local time = rcall('ZSCORE', k('turns', gate), queue) or rcall('ZSCORE', k('turned', gate), queue) or 0
  local mine = math.max(tonumber(time), tonumber(turns[2] or 0)) + own * cost_of(queue)
  local found = 0
  for i = 1, #turns, 2 do
    local ahead = mine - tonumber(turns[i + 1])
    if ahead < 0 then return found end
    if turns[i] ~= queue then
      local cost = cost_of(turns[i])
      local before = math.ceil(ahead / cost - 1e-9)
      if turns[i] < queue and math.abs(ahead / cost - before) < 1e-9 then before = before + 1 end
      found = found + math.min(before, rcall('ZCARD', k('line', turns[i], gate)))
    end
  end
  return #turns > 2 * MOST_QUEUES and '' or found
end

-- A gate as it is now, the job's place among those of its queue that wait there (rank; '' it does not), how many of its
-- own queue would come before it, and how many of others.
local function gate_facts(gate, id, queue, position)
  local inflight, line = k('inflight', 'resource', gate), k('line', queue, gate)
  local rank = rcall('ZRANK', line, id)
  local own = rank or rcall('ZCARD', line) + (tonumber(position) or 0)
  return {'name', gate, 'limits', rcall('HGETALL', k('resource', gate)),
    'inflight', rcall('ZCARD', inflight), 'holders', holders(inflight),
    'waiting', rcall('ZCARD', k('waiting', gate)), 'rank', rank or '', 'own', own,
    'others', others_before(gate, queue, own)}
end
