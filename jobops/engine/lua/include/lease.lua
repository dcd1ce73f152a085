-- The lease: a job's slot in its tenant's cap and at its gates, and the worker time that is charged for it.
-- @include release

-- As the lease names them, one a line.
local function gates_held(text)
  local gates = {}
  for gate in string.gmatch(text or '', '[^\n]+') do gates[#gates + 1] = gate end
  return gates
end

local function read_lease(id)
  local f = redis.pcall('HMGET', k('lease', id), 'token', 'slot', 'worker', 'tenant', 'lane', 'type', 'started', 'charged',
    'attempt', 'level', 'lane_level', 'replay_of', 'gates', 'stop', 'stop_note')
  -- Half a lease (partly restored, or written by an outsider) is none: it must not stop those that are whole.
  if not (f[1] and f[3] and f[4] and f[5] and f[6] and tonumber(f[7]) and tonumber(f[8]) and tonumber(f[9])) then
    return nil
  end
  return {id = id, token = f[1], slot = f[2], worker = f[3], tenant = f[4], lane = f[5], type = f[6],
    started = tonumber(f[7]), charged = tonumber(f[8]), attempt = tonumber(f[9]), level = f[10] or '0',
    lane_level = f[11] or '0', replay_of = f[12] or '', gates = gates_held(f[13]), stop = f[14] or '',
    stop_note = f[15] or ''}
end

-- RQ's tools see the worker without a job.
local function rest_worker(lease)
  local worker = 'rq:worker:' .. lease.worker
  if rcall('HGET', worker, 'current_job') == lease.id then
    rcall('HSET', worker, 'state', 'idle')
    rcall('HDEL', worker, 'current_job')
  end
end

-- Tenants that have nothing in flight are not busy.
local function leave_busy(slug)
  if rcall('EXISTS', k('inflight', slug)) == 0 then rcall('SREM', k('busy'), slug) end
end

-- No trace of the lease is left. What it held at its gates goes with it, so once, whoever ends it: then somebody has to
-- offer that to those who wait, as let_go() does.
local function drop_lease(lease)
  local queue = queue_name(lease.tenant, lease.lane)
  rcall('DEL', k('lease', lease.id))
  if not lease.settling then rcall('ZREM', k('leases'), lease.id) end
  rcall('ZREM', k('inflight', lease.tenant), lease.id)
  if not lease.settling then leave_busy(lease.tenant) end
  rcall('ZREM', 'rq:wip:' .. queue, lease.id .. ':' .. lease.token)
  for _, gate in ipairs(lease.gates) do rcall('ZREM', k('inflight', 'resource', gate), lease.id) end
end

-- A leftover lease: nothing ends with it, but what it held is free.
local function let_go(lease)
  drop_lease(lease)
  ring_enter_all(lease.tenant, false, nil, lease.gates)
end

-- The slot is free, the tenant pays for what it really used, and other work of its may run.
local function end_lease(lease, quiet, extra)
  drop_lease(lease)
  local used = math.max(0, (now_us - lease.started) / 1000) + (extra or 0)
  local t = rcall('HMGET', k('tenant', lease.tenant), 'weight', 'held', 'vt:' .. lease.lane)
  local in_ring = charge(lease.tenant, lease.lane, t[1], t[3], used - lease.charged, lease.level, lease.lane_level)
  ring_enter_all(lease.tenant, quiet, t[2], lease.gates, quiet and in_ring and lease.lane)
  return used
end
