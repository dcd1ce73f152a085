-- A job that could not do its work now, through no fault of its own: its attempt is given back, and it comes again.
-- @include release fail

local FREE_POSTPONEMENTS = 100

-- The gate that a job's brake closes: its resource's, or else its type's.
local function brake_gate(lease)
  local f = rcall('HMGET', 'rq:job:' .. lease.id, 'jo_resource', 'jo_type')
  if f[1] and f[1] ~= '' then return f[1] end
  return 'type:' .. (f[2] or lease.type)
end

-- o: delay, error_class, error; gate: the one whose brake is on, or nil. Answers postponed, or retry or dead when it
-- was postponed too often.
local function postpone(lease, o, gate)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_postponed', 'jo_tenant_uid', 'jo_lost_hash')
  local times = whole(f[1], 0) + 1
  rcall('HSET', job, 'jo_postponed', times, 'worker_name', '')
  if times > FREE_POSTPONEMENTS or f[3] or is_orphan(lease, f[2]) then
    return fail(lease, {cause = 'error', error_class = o.error_class, error = o.error, traceback = o.traceback,
      delay = o.delay})
  end
  rcall('HSET', job, 'jo_attempt', lease.attempt - 1, 'jo_error_class', o.error_class, 'jo_error', o.error)
  if gate then
    rcall('HSET', job, 'jo_runnable', now, 'jo_front', '')
    hold(lease.id, lease.tenant, lease.lane, gate, true)
    note_oldest(lease.tenant, lease.lane)
    release(gate, 1) -- parks it: it had no waiters, or a brake of no time
  else
    local due = now + o.delay
    rcall('HSET', job, 'status', 'scheduled', 'jo_due', due)
    rcall('ZADD', SCHEDULED, due / 1000, lease.id)
  end
  return 'postponed'
end
