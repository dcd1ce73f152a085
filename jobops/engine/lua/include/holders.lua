-- Who holds what a waiting job needs.

local MOST_HOLDERS = 20

-- The first jobs of a zset of those in flight, flat: id, worker, since (ms), tenant, job type, for each.
local function holders(zset)
  local found = {}
  for _, member in ipairs(rcall('ZRANGE', zset, 0, MOST_HOLDERS - 1)) do
    local id = string.match(member, '^(.-):') or member
    local f = redis.pcall('HMGET', k('lease', id), 'worker', 'started', 'tenant', 'type')
    local since = string.format('%.0f', math.floor((tonumber(f[2] or 0) or 0) / 1000))
    for _, part in ipairs({id, f[1] or '', since, f[3] or '', f[4] or ''}) do found[#found + 1] = part end
  end
  return found
end

-- A gate as it is now, and the job's place among those of its queue that wait there.
local function gate_facts(gate, id, queue)
  local inflight = k('inflight', 'resource', gate)
  return {'name', gate, 'limits', rcall('HGETALL', k('resource', gate)),
    'inflight', rcall('ZCARD', inflight), 'holders', holders(inflight),
    'waiting', rcall('ZCARD', k('waiting', gate)), 'rank', rcall('ZRANK', k('line', queue, gate), id) or ''}
end
