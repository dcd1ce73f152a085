-- reconcile: repairs one queue against what it should say. Outsiders (plain RQ enqueues, a partly restored Redis, a
-- write that was cut off) leave jobs that no ring entry speaks for, running jobs that no lease speaks for, and waiting
-- rooms that disagree.
-- ARGV: prefix, tenant, lane, limit
-- Answers: {recovered, ring, active}
-- Events: as settle.
-- @include args keys clock iso counters ring queue lease batch death outcome kept orphan rooms
arg_count(4)
local slug, lane, limit = arg_text(2, 'tenant'), arg_text(3, 'lane'), arg_int(4, 'limit', 1)
local queue = queue_name(slug, lane)

local recovered = 0
for _, member in ipairs(rcall('ZRANGE', 'rq:wip:' .. queue, 0, limit - 1)) do
  local id, token = string.match(member, '^(.-):(.*)$')
  if id then
    local lease = read_lease(id)
    if not lease or not rcall('ZSCORE', k('leases'), id) then
      if orphan(id, token, slug, lane) then recovered = recovered + 1 end
    elseif lease.token ~= token then
      rcall('ZREM', 'rq:wip:' .. queue, member)
    end
  end
end
for _, id in ipairs(rcall('ZRANGE', k('inflight', slug), 0, limit - 1)) do
  if not rcall('ZSCORE', k('leases'), id) and orphan(id, '', slug, lane) then recovered = recovered + 1 end
end
if rcall('EXISTS', k('inflight', slug)) == 0 then rcall('SREM', k('busy'), slug) end

tidy_rooms(slug, lane, limit)
local in_ring, in_active = rcall('ZSCORE', k('ring', lane), slug), rcall('ZSCORE', k('active', lane), slug)
note_oldest(slug, lane)
ring_enter(slug, lane)
local ring_now, active_now = rcall('ZSCORE', k('ring', lane), slug), rcall('ZSCORE', k('active', lane), slug)
if rcall('EXISTS', k('tenant', slug)) == 0 and rcall('EXISTS', 'rq:queue:' .. queue, 'rq:wip:' .. queue,
  k('held', queue)) == 0 then
  rcall('SREM', 'rq:queues', 'rq:queue:' .. queue) -- of a deleted tenant, and empty
end
for _, registry in ipairs({'rq:finished:', 'rq:canceled:', 'rq:failed:'}) do
  rcall('ZREMRANGEBYSCORE', registry .. queue, '-inf', math.floor(now / 1000))
end
return {recovered, (in_ring and 1 or 0) ~= (ring_now and 1 or 0) and 1 or 0,
  (in_active and 1 or 0) ~= (active_now and 1 or 0) and 1 or 0}
