-- A job that waits leaves its place, as it is not to run (again).
-- @include release

-- Answers false when its status says that it stands nowhere.
local function leave_place(id, status, slug, lane, gate)
  if status == 'scheduled' then
    rcall('ZREM', SCHEDULED, id)
  elseif status == 'queued' or status == 'rate_limited' then
    if status == 'queued' then
      rcall('LREM', 'rq:queue:' .. queue_name(slug, lane), 1, id)
    else
      leave_room(id, slug, lane, gate or '')
    end
    note_oldest(slug, lane)
  else
    return false
  end
  return true
end

-- The room at a gate that it was offered goes to the next one. To be called when the job has ended.
local function pass_offer(status, back)
  if status == 'queued' and back and back ~= '' then release(back, 1) end
end
