-- enqueue: takes one job in, or says why not. Atomic: policy, depth, duplicate, hash, push, ring and wake.
-- ARGV: prefix, id, tenant, lane, type, data, max_attempts, timeout_ms, lease_ms, key, correlation_id, delay_ms,
--       due_ms (0: none), front (1/0), result_ttl_s, replay_of ('' none: nobody watches how it ends),
--       tenant_uid ('' whoever has the slug), resource ('' none), dedup_ms (0: none), drop (1/0: at the depth limit
--       the waiting job of the same key gives way to this one), keep (0: any number of finished ones),
--       batch ('' none), checkpoint (JSON; '' none)
-- Answers: {queued|scheduled|duplicate|coalesced, id}, {unknown_tenant} (also: another customer has the slug now),
--          {intake_closed}, {unknown_lane}, {depth, waiting, limit, seconds until there may be room (0: nobody knows, as
--          it is paused), tenant|all: which pause, '' none}
-- Events: a wake-up token for an idle slot of the lane; the outcome of a watched job that was coalesced or gave way.
-- @include args keys clock iso arrival ring queue depth entry same_key

local function coalesced(first)
  rcall('SET', k('pushed', new.id), first, 'EX', '86400')
  tell_outcome(new.id, new.replay_of, 'coalesced', {into = first})
  batch_joined(new.id, new.batch, new.replay_of)
  batch_ended(new.id, new.batch, new.replay_of, 'coalesced')
  return {'coalesced', first}
end

local rival, status
if new.unique then
  rival, status = live_holder(new.unique, new.uid)
  if rival and not new.drop then return coalesced(rival) end
  -- A replay is asked for by a person, who knows what has been done since.
  local stands = not rival and new.dedup > 0 and new.replay_of == '' and stands_for(new.slug, new.type, new.key, new.uid)
  if stands then return coalesced(stands) end
end
local full = depth_reached()
if full then
  -- One that runs or is delayed is no part of the depth: that it ends makes no room, but for one that is delayed too.
  if not rival or status == 'started' or (status == 'scheduled' and not new.later) then return full end
elseif rival then
  return coalesced(rival)
end

if rival then
  -- A key of another kind fails here, before anything is written.
  if new.later then rcall('ZCARD', SCHEDULED) else rcall('LLEN', 'rq:queue:' .. queue_name(new.slug, new.lane)) end
  give_way(rival, status, new.id, new.slug, new.lane, new.type, new.key)
end
local is_all = new.take_in()
batch_joined(new.id, new.batch, new.replay_of)
return is_all and {new.state, new.id} or enter()
