-- enqueue: takes one job in, or says why not. Atomic: policy, depth, duplicate, hash, push, ring and wake.
-- ARGV: prefix, id, tenant, lane, type, data, max_attempts, timeout_ms, lease_ms, key, correlation_id, delay_ms,
--       due_ms (0: none), front (1/0), result_ttl_s, replay_of ('' none: nobody watches how it ends),
--       tenant_uid ('' whoever has the slug), resource ('' none), dedup_ms (0: none), drop (1/0: at the depth limit
--       the waiting job of the same key gives way to this one), keep (0: any number of finished ones),
--       batch ('' none), checkpoint (JSON; '' none)
-- Answers: {queued|scheduled|duplicate|coalesced, id}, {unknown_tenant} (also: another customer has the slug now),
--          {intake_closed}, {depth, waiting, limit}, {unknown_lane}
-- Events: a wake-up token for an idle slot of the lane; the outcome of a watched job that was coalesced.
-- @include args keys clock iso ring queue outcome batch
arg_count(23)
local id, slug, lane, job_type, data = arg_text(2, 'id'), arg_text(3, 'tenant'), arg_text(4, 'lane'), ARGV[5], ARGV[6]
local max_attempts, timeout, lease = arg_int(7, 'max_attempts', 1), arg_int(8, 'timeout_ms', 1), arg_int(9, 'lease_ms', 1)
local delay, due, front = arg_int(12, 'delay_ms', 0), arg_int(13, 'due_ms', 0), arg_flag(14, 'front')
local result_ttl = arg_int(15, 'result_ttl_s', 1)
local dedup, drop, keep, batch = arg_int(19, 'dedup_ms', 0), arg_flag(20, 'drop'), arg_int(21, 'keep', 0), ARGV[22]
local job = 'rq:job:' .. id
local queue = queue_name(slug, lane)

local before = rcall('GET', k('pushed', id))
if before then
  if before == id then return {'duplicate', id} end
  return {'coalesced', before}
end
-- The mark above lives a day; a job that waits or is kept for longer is the same job still.
if rcall('EXISTS', job) == 1 then return {'duplicate', id} end
local t = rcall('HMGET', k('tenant', slug), 'weight', 'intake_closed', 'depth_limit', 'uid')
if not t[1] or not same_tenant(ARGV[17], t[4]) then return {'unknown_tenant'} end
if rcall('HEXISTS', k('lanes'), lane) == 0 then return {'unknown_lane'} end
if t[2] == '1' then return {'intake_closed'} end
if ARGV[10] ~= '' then
  local unique = k('key', slug, job_type, ARGV[10])
  local first = rcall('GET', unique)
  local f = first and rcall('HMGET', 'rq:job:' .. first, 'status', 'jo_tenant_uid') or {}
  if (f[1] == 'queued' or f[1] == 'started' or f[1] == 'scheduled') and same_tenant(f[2], t[4]) then
    rcall('SET', k('pushed', id), first, 'EX', 86400)
    tell_outcome(id, ARGV[16], 'coalesced', {into = first})
    return {'coalesced', first}
  end
end
if t[3] and t[3] ~= '' then
  local waiting = 0
  for _, each in each_lane() do
    waiting = waiting + rcall('LLEN', 'rq:queue:' .. queue_name(slug, each))
  end
  if waiting >= tonumber(t[3]) then return {'depth', waiting, tonumber(t[3])} end
end

if due == 0 and delay > 0 then due = now + delay end
local at = iso(now)
-- A key of another kind fails here, before anything is written: the id would count as pushed and the job be nowhere.
if due > now then rcall('ZCARD', SCHEDULED) else rcall('LLEN', 'rq:queue:' .. queue) end
rcall('SET', k('pushed', id), id, 'EX', 86400)
if ARGV[10] ~= '' then rcall('SET', k('key', slug, job_type, ARGV[10]), id) end
rcall('HSET', job, 'created_at', at, 'enqueued_at', at, 'data', data, 'origin', queue, 'description', job_type,
  'timeout', math.ceil(timeout / 1000), 'result_ttl', result_ttl, 'worker_name', '', 'started_at', '',
  'ended_at', '', 'jo_type', job_type, 'jo_tenant', slug, 'jo_lane', lane, 'jo_attempt', 0,
  'jo_max_attempts', max_attempts, 'jo_timeout', timeout, 'jo_lease', lease, 'jo_key', ARGV[10],
  'jo_correlation', ARGV[11], 'jo_enqueued', now, 'jo_result_ttl', result_ttl,
  'jo_priority', front and 'front' or '', 'jo_tenant_uid', t[4] or '')
if ARGV[16] ~= '' then rcall('HSET', job, 'jo_replay_of', ARGV[16]) end
if ARGV[18] ~= '' then rcall('HSET', job, 'jo_resource', ARGV[18]) end
if dedup > 0 then rcall('HSET', job, 'jo_dedup', dedup) end
if keep > 0 then rcall('HSET', job, 'jo_keep', keep) end
if batch ~= '' then rcall('HSET', job, 'jo_batch', batch) end
if ARGV[23] ~= '' then rcall('HSET', job, 'jo_state', ARGV[23]) end
batch_joined(id, batch, ARGV[16])
if due > now then
  rcall('HSET', job, 'status', 'scheduled', 'jo_due', due)
  rcall('ZADD', SCHEDULED, due / 1000, id)
  return {'scheduled', id}
end
push(id, slug, lane, front)
return {'queued', id}
