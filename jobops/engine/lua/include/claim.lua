-- The pick. Lane with the least virtual time among those with a ring; tenant with the least in it; its oldest job that
-- passes its gates.
-- @include unpark pop take idle

local TRIES = 64       -- ring entries looked at in one call
local HELD = 64        -- jobs sent into waiting rooms in one call

-- Answers its name and record, slug and score of the ring's first; or nil.
local function pick_lane(lanes)
  local best, best_lane, first
  for _, name in ipairs(lanes) do
    local head = rcall('ZRANGE', k('ring', name), '0', '0', 'WITHSCORES')
    bare[name] = not head[1]
    if head[1] then
      local l = lane_of(name)
      if not best or l.vtime < best_lane.vtime then best, best_lane, first = name, l, head end
    end
  end
  if best then return best, best_lane, first[1], tonumber(first[2]) end
end

-- Answers the job's record, or nil and for how long to wait (0: ask again at once).
local function claim(slot, worker, token, lanes, block, was_idle)
  if was_idle then
    for _, lane in ipairs(lanes) do
      rcall('ZREM', k('idle', lane), slot)
      -- Tokens for slots that wait no more would wake later ones for nothing.
      local waiting = rcall('ZCARD', k('idle', lane))
      if waiting == 0 then rcall('DEL', k('wake', lane)) else rcall('LTRIM', k('wake', lane), 0, waiting - 1) end
    end
  end
  if cell_read.paused == nil then read_cell('paused', 'lane_vnow', 'lane_level', 'type_gates', 'parked', 'lanes') end
  if cell('paused') == '1' then return nil, wait_idle(slot, lanes, block, true) end
  local parked = cell('parked')
  if parked and parked ~= '' and (tonumber(parked) or 0) <= now then unpark() end
  local met = {any_types = cell('type_gates'), held = 0, gates = {}}
  for _ = 1, TRIES do
    local lane, l, slug, score = pick_lane(lanes)
    if not lane then return nil, wait_idle(slot, lanes, block) end
    local able, t = may_run(slug, lane)
    if not able then
      rcall('ZREM', k('ring', lane), slug)
    else
      local id, h, passed, gates = pop(slug, lane, t, met)
      if id then
        if l.vtime > tonumber(cell('lane_vnow') or 0) then
          cell_read.lane_vnow = l.vtime
          write_later(CELL, 'lane_vnow', l.vtime)
        end
        local at = {slug = slug, lane = lane, score = score, was_first = passed == 0}
        return take(id, h, at, l, t, gates, slot, worker, token)
      end
      if passed > 0 then charge(slug, lane, 1) end -- nobody waits for what another's does not start
      note_oldest(slug, lane, t[8] == '1')
      if met.held >= HELD then return nil, 0 end
    end
  end
  return nil, 0
end
