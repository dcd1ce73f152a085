-- The lease: a job's slot in its tenant's cap and at its gates, and the worker time that is charged for it.
-- @include release terms

-- As the lease names them, one a line.
local function gates_held(text)
  local gates = {}
  for gate in string.gmatch(text or '', '[^\n]+') do gates[#gates + 1] = gate end
  return gates
end

local function read_lease(id)
  local f = redis.pcall('HMGET', k('lease', id), 'token', 'worker', 'tenant', 'lane', 'type', 'started', 'charged', 'attempt',
    'terms', 'replay_of', 'gates', 'stop', 'stop_note')
  local started, charged, attempt = tonumber(f[6] or ''), tonumber(f[7] or ''), tonumber(f[8] or '')
  -- Half a lease (partly restored, or written by an outsider) is none: it must not stop those that are whole.
  if not (f[1] and f[2] and f[3] and f[4] and f[5] and started and charged and attempt) then return nil end
  local _, _, level, lane_level, slot = terms_of(f[9])
  return {id = id, token = f[1], slot = slot, worker = f[2], tenant = f[3], lane = f[4], type = f[5], started = started,
    charged = charged, attempt = attempt, level = level, lane_level = lane_level, replay_of = f[10] or '',
    gates = f[11] and gates_held(f[11]), stop = f[12] or '', stop_note = f[13] or ''}
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
  running_now[lease.tenant] = nil
  if not lease.settling then leave_busy(lease.tenant) end
  rcall('ZREM', 'rq:wip:' .. queue, lease.id .. ':' .. lease.token)
  for _, gate in ipairs(lease.gates or {}) do gcall('ZREM', k('inflight', 'resource', gate), lease.id) end
end

-- The slot is free, the tenant pays for what it really used, and other work of its may run.
local function end_lease(lease, quiet, extra)
  local slug, lane = lease.tenant, lease.lane
  drop_lease(lease)
  local used = math.max(0, (now_us - lease.started) / 1000) + (extra or 0)
  local in_ring = charge(slug, lane, used - lease.charged, lease.level, lease.lane_level)
  local t = tenant_of(slug, lane)
  local was_full = t[2] and t[2] ~= '' and running_of(slug) + 1 >= tonumber(t[2])
  if was_full or t[8] == '1' or lease.gates or not quiet then
    ring_enter_all(slug, quiet, t[8], lease.gates, quiet and in_ring and lane)
  elseif not in_ring then
    ring_enter(slug, lane, quiet) -- below its cap it was in the rings of its other lanes already
  end
  return used
end
