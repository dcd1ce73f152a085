-- A gate that may have room offers it to those who wait, and what a tenant may do again comes into play everywhere.
-- @include room

local OFFERS = 16  -- waiters that go back in one step, when a gate opens wide
local WINDOW = 16  -- queues that were offered room already, and have not taken it yet, that are looked past
local STEPS = 64   -- turns looked at in one step

-- To this one in turn, if its tenant may start one more. Answers whether some went back, and the next place to look at.
-- While one that was sent back to this queue from this gate stands there still, no second one is.
local function offer(gate, queue, place, quiet)
  local slug, lane = string.match(queue, '^(.+)%.([^.]+)$')
  local able, t = false, nil
  if slug then able, t = may_run(slug, lane) end
  local first = able and gcall('ZRANGE', k('line', queue, gate), 0, 0, 'WITHSCORES') or {}
  if not first[1] then
    turns_leave(gate, queue) -- when its tenant may again, ring_enter_all() brings it back
    return false, place
  end
  local offered, after = front_run(queue, gate, tonumber(first[2]))
  if offered then return false, place + 1 end
  turns_charge(gate, queue, t[1], lane)
  return give_back(first[1], slug, lane, gate, quiet, after), place
end

-- Up to `most` waiters go back, as far as there is room. Whatever happens then, it is looked at again: when time alone
-- opens it, and while there are room and waiters, soon.
local function release(gate, most, quiet)
  local room, till, _, known = gate_room(gate)
  local left, place, steps = math.min(room, most), 0, 0
  while left > 0 and place < WINDOW and steps < STEPS do
    local queue = gcall('ZRANGE', k('turns', gate), place, place)[1]
    if not queue then break end
    -- What somebody else's keys hold must not stop the others, nor whoever calls.
    local fine, went, at = pcall(offer, gate, queue, place, quiet)
    if not fine then turns_leave(gate, queue) end -- reconcile brings it back
    if fine and went then left = left - 1 end
    place, steps = fine and at or place, steps + 1
  end
  if gcall('ZCARD', k('waiting', gate)) == 0 then
    gcall('ZREM', k('parked'), 'resource:' .. gate)
    if not known then forget_bare(gate) end
  elseif room > 0 then
    park('resource:' .. gate, steps < STEPS and now + BACKSTOP_MS or now)
  elseif till then
    park('resource:' .. gate, till)
  else
    gcall('ZREM', k('parked'), 'resource:' .. gate) -- an event opens it: a lease that ends, a person
  end
end

-- Its waiters take their turns again. Answers the gates at which they did not.
local function turns_enter_all(slug)
  local gates = {}
  for _, lane in each_lane() do
    local queue = queue_name(slug, lane)
    local lines = gcall('SMEMBERS', k('lines', queue))
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
