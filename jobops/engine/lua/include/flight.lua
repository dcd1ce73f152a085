-- What speaks for a running job: its lease, its place in flight, its entry in RQ's registry. p: as places() answers.

-- Nothing of it is left. Answers whether there was anything.
local function leave_flight(id, p)
  if not (p.lease or p.lease_hash or p.inflight or p.wip[1]) then return false end
  local lease = read_lease(id)
  if lease then let_go(lease) end
  rcall('DEL', k('lease', id))
  rcall('ZREM', k('leases'), id)
  rcall('ZREM', k('inflight', p.slug), id)
  for _, member in ipairs(p.wip) do rcall('ZREM', 'rq:wip:' .. p.queue, member) end
  if rcall('EXISTS', k('inflight', p.slug)) == 0 then rcall('SREM', k('busy'), p.slug) end
  return true
end

-- A running job without a whole lease has lost its attempt; one with it is counted. Answers what was done, or nil.
local function stay_in_flight(id, p)
  local lease = p.lease and read_lease(id)
  if not lease then
    for _, member in ipairs(p.wip) do rcall('ZREM', 'rq:wip:' .. p.queue, member) end
    return 'its attempt without a lease ended: ' .. lose_leaseless(id, '', p.slug, p.lane)
  end
  local added = rcall('ZADD', k('inflight', lease.tenant), 'NX', p.lease, id)
    + rcall('ZADD', 'rq:wip:' .. queue_name(lease.tenant, lease.lane), 'NX', '+inf', id .. ':' .. lease.token)
    + rcall('SADD', k('busy'), lease.tenant)
  for _, gate in ipairs(lease.gates or {}) do
    added = added + gcall('ZADD', k('inflight', 'resource', gate), 'NX', p.lease, id)
  end
  return added > 0 and 'counted in flight again' or nil
end
