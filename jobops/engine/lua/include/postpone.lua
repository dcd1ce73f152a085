-- A job that could not do its work now, through no fault of its own: its attempt is given back, and it comes again.
-- @include release fail

local FREE_POSTPONEMENTS = 100

-- The gate that a job's brake closes: its resource's, or else its type's.
local function brake_gate(lease)
  local f = rcall('HMGET', 'rq:job:' .. lease.id, 'jo_resource', 'jo_type')
  if f[1] and f[1] ~= '' then return f[1] end
  return 'type:' .. (f[2] or lease.type)
end

-- What the job said that put the brake on; its own record is over before the brake may be.
local function note_brake(gate, id, o)
  local key = k('resource', gate)
  if rcall('HGET', key, 'brake_by') ~= id then return end -- a longer one of another job is on
  local said = {}
  for _, part in ipairs({o.error_class or '', o.brief or o.error or ''}) do
    if part ~= '' then said[#said + 1] = part end
  end
  rcall('HSET', key, 'brake_error', table.concat(said, ': '))
end

-- Since when it could have run (ms). A retry's due time takes the place of the first one, and so does a postponement's.
local function runnable_since(lease, enqueued, due)
  local first = lease.attempt > 1 and rcall('HGET', 'rq:job:' .. lease.id, 'attempt:1')
  first = first and string.match(first, '"started_at":(%d+)')
  return math.min(now, tonumber(first or due or enqueued or '') or now)
end

-- o: delay, error_class, error, brief; result: how long it may be postponed, in ms since it could have run ('' for ever);
-- gate: the one whose brake is on, or nil. Answers postponed, or retry or dead when that was too often or for too long.
local function postpone(lease, o, gate)
  local job = 'rq:job:' .. lease.id
  local f = rcall('HMGET', job, 'jo_postponed', 'jo_tenant_uid', 'jo_lost_hash', 'jo_since', 'jo_enqueued', 'jo_due')
  local times = whole(f[1], 0) + 1
  local since = tonumber(f[4] or '') or runnable_since(lease, f[5], f[6])
  rcall('HSET', job, 'jo_postponed', times, 'jo_since', string.format('%.0f', since), 'worker_name', '')
  if gate then note_brake(gate, lease.id, o) end
  local late = now - since >= (tonumber(o.result) or math.huge)
  if late or times > FREE_POSTPONEMENTS or f[3] or is_orphan(lease, f[2]) then
    remember(lease, 'error', o.error_class, o.brief)
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
