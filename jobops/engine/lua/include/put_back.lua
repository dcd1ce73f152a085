-- Lost attempts of one queue whose next ones stand first in it. What they share is done once for all.
-- @include counted let_go stopped

local LOSS_MS = 200 -- worker time that a lost worker costs beside the job's own: a slot is buried and another started

local homeless = {} -- tenant and whose job it is → is_orphan, as this call has seen
local function has_no_home(lease, job_uid)
  local key = lease.tenant .. ' ' .. (job_uid or '')
  if homeless[key] == nil then homeless[key] = is_orphan(lease, job_uid) end
  return homeless[key]
end

-- No trace of the leases is left, as drop_lease() leaves none of one. Answers the gates at which they held something.
local function drop_leases(slug, lane, leases, ids)
  local hashes, started, held, gates = {}, {}, {}, {}
  for i, lease in ipairs(leases) do
    hashes[i] = k('lease', lease.id)
    started[i] = lease.id .. ':' .. lease.token
    for _, gate in ipairs(lease.gates or {}) do
      held[gate] = held[gate] or {}
      table.insert(held[gate], lease.id)
    end
  end
  rcall('DEL', unpack(hashes))
  rcall('ZREM', k('leases'), unpack(ids))
  rcall('ZREM', k('inflight', slug), unpack(ids))
  running_now[slug] = nil
  leave_busy(slug)
  rcall('ZREM', 'rq:wip:' .. queue_name(slug, lane), unpack(started))
  for gate, members in pairs(held) do
    gcall('ZREM', k('inflight', 'resource', gate), unpack(members))
    gates[#gates + 1] = gate
  end
  return gates
end

-- The tenant pays for what they really used. What is given back depends on when it was charged, and goes apart. Answers
-- whether it was seen in the ring.
local function charge_all(slug, lane, leases)
  local sums, in_ring = {}, false
  for _, lease in ipairs(leases) do
    local used = math.max(0, (now_us - lease.started) / 1000) + LOSS_MS
    count('tenant', slug .. '|us', math.floor(used * 1000))
    local due = used - lease.charged
    local key = due > 0 and '' or (lease.level or '') .. ' ' .. (lease.lane_level or '')
    local sum = sums[key] or {ms = 0, level = lease.level, lane_level = lease.lane_level}
    sums[key] = sum
    sum.ms = sum.ms + due
  end
  for _, sum in pairs(sums) do
    in_ring = charge(slug, lane, sum.ms, sum.level, sum.lane_level) or in_ring
  end
  return in_ring
end

local sleeping = {} -- lane → slots that wait; nothing that ends an attempt makes more
local function wake_for(lane, jobs)
  sleeping[lane] = sleeping[lane] or rcall('ZCARD', k('idle', lane))
  for _ = 1, math.min(jobs, sleeping[lane]) do wake(lane) end
end

-- leases: each with its error; not more than one call takes arguments.
local function put_back(leases, cause, error_class)
  local slug, lane, ids = leases[1].tenant, leases[1].lane, {}
  local queue = 'rq:queue:' .. queue_name(slug, lane)
  for i, lease in ipairs(leases) do ids[i] = lease.id end
  local gates = drop_leases(slug, lane, leases, ids)
  local waiting = rcall('LPUSH', queue, unpack(ids))
  for _, lease in ipairs(leases) do
    remember(lease, cause, error_class, lease.error, 'status', 'queued', 'jo_runnable', now_text, 'jo_front', '1',
      'jo_error_class', error_class, 'jo_error', lease.error, 'jo_cause', cause, 'exc_info', lease.error)
    count_lost(lease)
  end
  if waiting == #ids then list_queue(slug, lane) end -- else it is listed since there were none
  local in_ring = charge_all(slug, lane, leases)
  if in_ring or ring_enter(slug, lane, true, true) then wake_for(lane, #ids) end
  ring_enter_all(slug, false, tenant_of(slug, lane)[8], gates, lane)
end
