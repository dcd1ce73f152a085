-- A job that was popped meets its gates.
-- @include release

-- What is known of a gate; nothing that this call does before it takes a job makes room.
local function look(gate, met)
  local g = met.gates[gate]
  if not g then
    local room, till, tokens = gate_room(gate)
    g = {room = room, till = till, name = gate, tokens = tokens}
    met.gates[gate] = g
  end
  return g
end

-- The first of its line, if it is older than a job with this order ('' or none: it has not waited before).
local function older_in(line, order, front)
  local first = gcall('ZRANGE', line, 0, 0, 'WITHSCORES')
  local own = tonumber(order or '')
  if not first[1] or (not own and front == '1') then return nil end
  return (not own or tonumber(first[2]) < own) and first[1] or nil
end

-- Answers the gates, if it passes all; else it waits at the first that is closed, or where an older one of its queue
-- does: that one then stands first in the queue. An offer of another gate that it leaves goes to the next one.
local function meet(id, slug, lane, t, gates, order, front, met)
  local queue, passes = queue_name(slug, lane), {}
  for i, gate in ipairs(gates) do
    local g = look(gate, met)
    local older = g.room > 0 and older_in(k('line', queue, gate), order, front)
    if g.room <= 0 or older then
      local left = hold(id, slug, lane, gate)
      met.held = met.held + 1
      if older then
        turns_charge(gate, queue, t[1], lane)
        -- Before all others of its queue: what stands there after a younger one is younger still.
        if not give_back(older, slug, lane, gate, true) then park('resource:' .. gate, now) end
      elseif g.till and not g.parked then
        park('resource:' .. gate, g.till)
        g.parked = true
      end
      if left then release(left, 1, true) end
      return nil
    end
    passes[i] = g
  end
  return passes
end
