-- A gate that may have room offers it to those who wait, and what a tenant may do again comes into play everywhere.
-- @include room

local OFFERS = 16  -- waiters that go back in one step, when a gate opens wide
local WINDOW = 16  -- queues that were offered room already, and have not taken it yet, that are looked past
local STEPS = 64   -- turns looked at in one step

-- One that was sent back to this queue from this gate stands there still: a second one would be put before it.
local function is_offered(queue, gate)
  for place = 0, FRONT do
    local id = rcall('LINDEX', 'rq:queue:' .. queue, place)
    local f = id and rcall('HMGET', 'rq:job:' .. id, 'jo_front', 'jo_back') or {}
    if f[2] == gate then return true end
    if f[1] ~= '1' then return false end
  end
  return false
end

-- To the first in turn whose tenant may start one more. Answers whether some went back, and the next place to look at.
local function offer(gate, place, quiet)
  local queue = rcall('ZRANGE', k('turns', gate), place, place)[1]
  if not queue then return nil end
  local slug, lane = string.match(queue, '^(.+)%.([^.]+)$')
  local able, t = false, nil
  if slug then able, t = may_run(slug, lane) end
  local id = able and rcall('ZRANGE', k('line', queue, gate), 0, 0)[1]
  if not id then
    turns_leave(gate, queue) -- when its tenant may again, ring_enter_all() brings it back
    return false, place
  end
  if is_offered(queue, gate) then return false, place + 1 end
  turns_charge(gate, queue, t[1], lane)
  return give_back(id, slug, lane, gate, quiet), place
end

-- Up to `most` waiters go back, as far as there is room. Whatever happens then, it is looked at again: when time alone
-- opens it, and while there are room and waiters, soon.
local function release(gate, most, quiet)
  local room, till, _, known = gate_room(gate)
  local left, place, steps = math.min(room, most), 0, 0
  while left > 0 and place < WINDOW and steps < STEPS do
    local went, at = offer(gate, place, quiet)
    if went == nil then break end
    if went then left = left - 1 end
    place, steps = at, steps + 1
  end
  if rcall('EXISTS', k('waiting', gate)) == 0 then
    rcall('ZREM', k('parked'), 'resource:' .. gate)
    if not known then forget_bare(gate) end
  elseif room > 0 then
    park('resource:' .. gate, steps < STEPS and now + BACKSTOP_MS or now)
  elseif till then
    park('resource:' .. gate, till)
  else
    rcall('ZREM', k('parked'), 'resource:' .. gate) -- an event opens it: a lease that ends, a person
  end
end

-- Its waiters take their turns again. Answers the gates at which they did not.
local function turns_enter_all(slug)
  local gates = {}
  for _, lane in each_lane() do
    local queue = queue_name(slug, lane)
    local lines = rcall('SMEMBERS', k('lines', queue))
    if lines[1] and may_run(slug, lane) then
      for _, gate in ipairs(lines) do
        if turns_enter(gate, queue) then gates[gate] = true end
      end
    end
  end
  return gates
end

-- Every lane in which the tenant has work, and every gate at which some of it waits: its in flight fell, its cap, rate
-- or pause changed. held: the tenant's hint (nil: not read). freed: gates that a lease of its let go of. but: a lane in
-- whose ring it is known to be.
local function ring_enter_all(slug, quiet, held, freed, but)
  for _, lane in each_lane() do
    if lane ~= but then ring_enter(slug, lane, quiet) end
  end
  if held == nil then held = rcall('HGET', k('tenant', slug), 'held') end
  if held ~= '1' and not (freed and freed[1]) then return end
  local gates, names = held == '1' and turns_enter_all(slug) or {}, {}
  for _, gate in ipairs(freed or {}) do gates[gate] = true end
  for gate in pairs(gates) do names[#names + 1] = gate end
  table.sort(names)
  for _, gate in ipairs(names) do release(gate, 1, quiet) end
end
