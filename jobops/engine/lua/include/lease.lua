-- The lease: a job's slot in its tenant's cap, and the worker time that is charged for it.

local function read_lease(id)
  local f = redis.pcall('HMGET', k('lease', id), 'token', 'slot', 'worker', 'tenant', 'lane', 'type', 'started', 'charged',
    'attempt', 'level', 'lane_level', 'replay_of')
  -- Half a lease (partly restored, or written by an outsider) is none: it must not stop those that are whole.
  if not (f[1] and f[3] and f[4] and f[5] and f[6] and tonumber(f[7]) and tonumber(f[8]) and tonumber(f[9])) then
    return nil
  end
  return {id = id, token = f[1], slot = f[2], worker = f[3], tenant = f[4], lane = f[5], type = f[6],
    started = tonumber(f[7]), charged = tonumber(f[8]), attempt = tonumber(f[9]), level = f[10] or '0',
    lane_level = f[11] or '0', replay_of = f[12] or ''}
end

-- RQ's tools see the worker without a job.
local function rest_worker(lease)
  local worker = 'rq:worker:' .. lease.worker
  if rcall('HGET', worker, 'current_job') == lease.id then
    rcall('HSET', worker, 'state', 'idle')
    rcall('HDEL', worker, 'current_job')
  end
end

-- No trace of the lease is left.
local function drop_lease(lease)
  local queue = queue_name(lease.tenant, lease.lane)
  rcall('DEL', k('lease', lease.id))
  rcall('ZREM', k('leases'), lease.id)
  rcall('ZREM', k('inflight', lease.tenant), lease.id)
  if rcall('EXISTS', k('inflight', lease.tenant)) == 0 then rcall('SREM', k('busy'), lease.tenant) end
  rcall('ZREM', 'rq:wip:' .. queue, lease.id .. ':' .. lease.token)
end

-- The slot is free, the tenant pays for what it really used, and other work of its may run.
local function end_lease(lease, quiet, extra)
  drop_lease(lease)
  local used = math.max(0, (now_us - lease.started) / 1000) + (extra or 0)
  charge(lease.tenant, lease.lane, rcall('HGET', k('tenant', lease.tenant), 'weight'), used - lease.charged,
    lease.level, lease.lane_level)
  ring_enter_all(lease.tenant, quiet)
  return used
end
