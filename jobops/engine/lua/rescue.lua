-- rescue: ends expired leases as lost attempts. Read and write are one step, so a job that ended or was renewed in
-- between is never touched. After a gap between its ticks (Redis or all rescuers were away) everything looks expired:
-- it then moves nothing for one full lease, so that live workers can renew first.
-- ARGV: prefix, limit, gap_ms, hold_ms, min_interval_ms (0: whatever others do), by (who calls; '' nobody in particular)
-- Answers: {moved, dead, held (1/0), more (1/0: more have expired)}
-- Events: as settle.
-- @include args keys relief clock iso counters ring queue lease batch death outcome kept lost sweep
arg_count(6)
local limit, gap, hold_for = arg_int(2, 'limit', 1), arg_int(3, 'gap_ms', 0), arg_int(4, 'hold_ms', 0)
local interval, by = arg_int(5, 'min_interval_ms', 0), ARGV[6]
local MANY = 1000 -- of one queue in one step
local mine, tick = is_called_for('rescue', interval, by)
if not mine then return {0, 0, 0, 0} end
needs_no_memory()
note_sweep('rescue', by)
local hold_was = rcall('HMGET', CELL, 'rescue_hold', 'rescue_hold_for')
local held = tonumber(hold_was[1] or 0)
if tick and now - tick > gap then
  held = now + hold_for
  rcall('HSET', CELL, 'rescue_hold', held, 'rescue_hold_for', hold_for)
end
-- A hold further ahead than one was ever set is from before the clock was set back.
if now < held and held - now <= math.max(hold_for, tonumber(hold_was[2] or 0)) then
  return {0, 0, 1, 0}
end
local expired = rcall('ZRANGEBYSCORE', k('leases'), '-inf', now_text, 'LIMIT', 0, limit)

local moved, dead, queues, order = 0, 0, {}, {}

-- One malformed key must not stop the rescue of all others.
local function lose_alone(id, lease)
  local fine, ended = pcall(function() return lease and lose(lease, 'worker_lost', lease.error) end)
  if ended == 'dead' then dead = dead + 1 elseif ended == 'retry' then moved = moved + 1 end
  -- Its hash was lost, or it is no job's: reconcile finds what there is of it by its queue.
  if lease and not fine then pcall(let_go, lease) end
  if not lease or not fine then rcall('ZREM', k('leases'), id) end
end

local function put_back_all(leases)
  if pcall(put_back, leases, 'worker_lost', error_class_of('worker_lost')) then
    moved = moved + #leases
  else -- once more each alone: what was done already is found to be
    for _, lease in ipairs(leases) do lose_alone(lease.id, lease) end
  end
end

for _, id in ipairs(expired) do
  local lease = read_lease(id)
  if lease then lease.error = 'the lease expired: its worker (' .. lease.worker .. ') was not heard of' end
  local fine, back = pcall(function() return lease and goes_back(lease, read_lost(id), 'worker_lost') end)
  if fine and back then
    local queue = queue_name(lease.tenant, lease.lane)
    local leases = queues[queue]
    if not leases or #leases == MANY then
      leases = {}
      queues[queue] = leases
      order[#order + 1] = leases
    end
    leases[#leases + 1] = lease
  else
    lose_alone(id, lease)
  end
end
for _, leases in ipairs(order) do put_back_all(leases) end
bump_counted()
return {moved, dead, 0, #expired == limit and 1 or 0}
