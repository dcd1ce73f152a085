-- enqueue: takes one job in, or says why not. Atomic: policy, depth, duplicate, hash, push, ring and wake.
-- ARGV: prefix, id, tenant, lane, type, data, max_attempts, timeout_ms, lease_ms, key, correlation_id, delay_ms,
--       due_ms (0: none), front (1/0), result_ttl_s, replay_of ('' none: nobody watches how it ends),
--       tenant_uid ('' whoever has the slug), resource ('' none), dedup_ms (0: none), drop (1/0: at the depth limit
--       the waiting job of the same key gives way to this one), keep (0: any number of finished ones),
--       batch ('' none), checkpoint (JSON; '' none)
-- Answers: {queued|scheduled|duplicate|coalesced, id}, {unknown_tenant} (also: another customer has the slug now),
--          {intake_closed}, {depth, waiting, limit, seconds until there may be room}, {unknown_lane}
-- Events: a wake-up token for an idle slot of the lane; the outcome of a watched job that was coalesced or gave way.
-- @include args keys clock iso ring queue depth same_key
arg_count(23)
local id, slug, lane, job_type, data = arg_text(2, 'id'), arg_text(3, 'tenant'), arg_text(4, 'lane'), ARGV[5], ARGV[6]
local max_attempts, timeout, lease = arg_int(7, 'max_attempts', 1), arg_int(8, 'timeout_ms', 1), arg_int(9, 'lease_ms', 1)
local key, delay, due, front = ARGV[10], arg_int(12, 'delay_ms', 0), arg_int(13, 'due_ms', 0), arg_flag(14, 'front')
local result_ttl, replay_of = arg_int(15, 'result_ttl_s', 1), ARGV[16]
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

local function coalesced(first)
  rcall('SET', k('pushed', id), first, 'EX', 86400)
  tell_outcome(id, replay_of, 'coalesced', {into = first})
  batch_joined(id, batch, replay_of)
  batch_ended(id, batch, replay_of, 'coalesced')
  return {'coalesced', first}
end

local unique, rival, status
if key ~= '' then
  unique = k('key', slug, job_type, key)
  rival, status = live_holder(unique, t[4])
  if rival and not drop then return coalesced(rival) end
  -- A replay is asked for by a person, who knows what has been done since.
  local stands = not rival and dedup > 0 and replay_of == '' and stands_for(slug, job_type, key, t[4])
  if stands then return coalesced(stands) end
end
local limit = tonumber(t[3] or '')
local waiting = limit and depth_of(slug)
if limit and waiting >= limit then
  if not rival or status == 'started' then return {'depth', waiting, limit, room_in(slug, waiting - limit + 1)} end
elseif rival then
  return coalesced(rival)
end

if due == 0 and delay > 0 then due = now + delay end
local at = iso(now)
-- A key of another kind fails here, before anything is written: the id would count as pushed and the job be nowhere.
if due > now then rcall('ZCARD', SCHEDULED) else rcall('LLEN', 'rq:queue:' .. queue) end
if unique then rcall('SET', unique, id) end
if rival then give_way(rival, status, id, slug, lane, job_type, key) end
rcall('SET', k('pushed', id), id, 'EX', 86400)
-- First what claim reads and writes: Redis looks for a field of a small hash from its beginning.
rcall('HSET', job, 'status', due > now and 'scheduled' or 'queued', 'jo_type', job_type, 'jo_attempt', '0',
  'jo_max_attempts', ARGV[7], 'jo_timeout', ARGV[8], 'jo_lease', ARGV[9], 'data', data, 'jo_key', key,
  'jo_correlation', ARGV[11], 'jo_enqueued', now_text, 'jo_tenant_uid', t[4] or '', 'worker_name', '',
  'started_at', '', 'jo_result_ttl', ARGV[15], 'ended_at', '', 'created_at', at, 'enqueued_at', at, 'origin', queue,
  'description', job_type, 'timeout', math.ceil(timeout / 1000), 'result_ttl', ARGV[15], 'jo_tenant', slug,
  'jo_lane', lane, 'jo_priority', front and 'front' or '',
  unpack(due > now and {'jo_due', due} or {'jo_runnable', now_text, 'jo_front', front and '1' or ''}))
if replay_of ~= '' then rcall('HSET', job, 'jo_replay_of', replay_of) end
if ARGV[18] ~= '' then rcall('HSET', job, 'jo_resource', ARGV[18]) end
if dedup > 0 then rcall('HSET', job, 'jo_dedup', dedup) end
if keep > 0 then rcall('HSET', job, 'jo_keep', keep) end
if batch ~= '' then rcall('HSET', job, 'jo_batch', batch) end
if ARGV[23] ~= '' then rcall('HSET', job, 'jo_state', ARGV[23]) end
batch_joined(id, batch, replay_of)
if due > now then
  rcall('ZADD', SCHEDULED, due / 1000, id)
  return {'scheduled', id}
end
push(id, slug, lane, front, false, true)
return {'queued', id}
