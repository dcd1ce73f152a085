-- A slot that finds nothing.
-- @include ring parked

-- Rings are empty: who ran until now owes nobody, and the slot waits, at most until time opens something. Registered in
-- the same step, so that an enqueue between this answer and the slot's sleep finds it. Answers for how long (ms).
-- all_paused: nothing opens before somebody resumes.
local function wait_idle(slot, lanes, block, all_paused)
  local before = tonumber(cell('lane_vnow') or 0)
  local top = before
  for _, lane in ipairs(lanes) do
    if rcall('EXISTS', k('ring', lane)) == 0 then
      local l = lane_of(lane)
      if l.vmax > l.vnow then
        lane_set(lane, 'vnow', l.vmax)
        l.level = string.format('%d', rcall('HINCRBY', CELL, 'level:' .. lane, 1))
      end
      top = math.max(top, l.vtime)
    end
    rcall('ZADD', k('idle', lane), string.format('%d', now + block + 250), slot)
  end
  if top > before then
    write_later(CELL, 'lane_vnow', top)
    rcall('HINCRBY', CELL, 'lane_level', 1)
  end
  local first = not all_paused and next_parked()
  return first and math.min(block, math.max(1, first - now)) or block
end
