-- What a lease says that nobody changes while it lasts, in one field, as Redis takes time for each: its length and the
-- job's time-out (ms), the levels of the lane and of the lanes when it was charged, and the slot.

local function terms_text(lease_ms, timeout, level, lane_level, slot)
  return lease_ms .. ' ' .. timeout .. ' ' .. level .. ' ' .. lane_level .. ' ' .. slot
end

-- Answers nothing when they are none.
local function terms_of(text)
  local lease_ms, timeout, level, lane_level, slot = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (.*)$')
  return tonumber(lease_ms), tonumber(timeout), level or '0', lane_level or '0', slot or ''
end
