-- The way of a job that has to look at no other of its key or batch: its tenant may be full, and it may have to come into
-- the ring, or to wake somebody.
-- @include arrival ring queue depth

-- Nothing when there is room for the new job; else what is answered then.
local function depth_reached()
  local waiting = new.limit and depth_of(new.slug)
  if new.limit and waiting >= new.limit then
    local paused = paused_by(new.slug) -- then nobody knows when there is room: 0
    local seconds = paused == '' and room_in(new.slug, waiting - new.limit + 1) or 0
    return {'depth', waiting, new.limit, seconds, paused}
  end
end

local function enter()
  if not new.later then -- an outsider may have filled the queue without a word to anybody
    list_queue(new.slug, new.lane)
  end
  ring_enter(new.slug, new.lane, false, true)
  return {new.state, new.id}
end

if new.alone then
  local full = depth_reached()
  if full then return full end
  if new.limit and new.take_in() then return {new.state, new.id} end -- without a limit it is in already
  return enter()
end
