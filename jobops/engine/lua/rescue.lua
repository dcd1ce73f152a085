-- rescue: ends expired leases as lost attempts. Read and write are one step, so a job that ended or was renewed in
-- between is never touched. After a gap between its ticks (Redis or all rescuers were away) everything looks expired:
-- it then moves nothing for one full lease, so that live workers can renew first.
-- ARGV: prefix, limit, gap_ms, hold_ms
-- Answers: {moved, dead, held (1/0)}
-- Events: as settle.
-- @include args keys relief clock iso counters ring queue lease batch death outcome kept finish
arg_count(4)
local limit, gap, hold_for = arg_int(2, 'limit', 1), arg_int(3, 'gap_ms', 0), arg_int(4, 'hold_ms', 0)
local tick = rcall('HMGET', CELL, 'rescue_tick', 'rescue_hold', 'rescue_hold_for')
needs_no_memory()
rcall('HSET', CELL, 'rescue_tick', now)
local held = tonumber(tick[2] or 0)
if tick[1] and now - tonumber(tick[1]) > gap then
  held = now + hold_for
  rcall('HSET', CELL, 'rescue_hold', held, 'rescue_hold_for', hold_for)
end
-- A hold further ahead than one was ever set is from before the clock was set back.
if now < held and held - now <= math.max(hold_for, tonumber(tick[3] or 0)) then return {0, 0, 1} end

local moved, dead = 0, 0
for _, id in ipairs(rcall('ZRANGEBYSCORE', k('leases'), '-inf', now, 'LIMIT', 0, limit)) do
  local lease = read_lease(id)
  -- One malformed key must not stop the rescue of all others.
  local fine, ended = pcall(function()
    return lease and lose(lease, 'worker_lost', 'the lease expired: its worker (' .. lease.worker .. ') was not heard of')
  end)
  if ended == 'dead' then dead = dead + 1 elseif ended == 'retry' then moved = moved + 1 end
  -- Its hash was lost, or it is no job's: reconcile finds what there is of it by its queue.
  if lease and not fine then pcall(let_go, lease) end
  if not lease or not fine then rcall('ZREM', k('leases'), id) end
end
return {moved, dead, 0}
