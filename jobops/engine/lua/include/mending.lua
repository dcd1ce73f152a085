-- What mend does to one job, told in words: out of the places where it does not belong.
-- @include places flight stay

local id, p -- the job, and where it stands, as places() answers
local done = {}
local function note(text) done[#done + 1] = text end

local function leave_other_queues()
  for queue, times in pairs(p.entries) do
    local slug, lane = string.match(queue, '^(.+)%.([^.]+)$')
    if queue ~= p.queue and times > 0 and slug then
      rcall('LREM', 'rq:queue:' .. queue, 0, id)
      note_oldest(slug, lane)
      note('taken out of the queue ' .. queue)
    end
  end
end

local function leave_queue()
  if p.entries[p.queue] > 0 then
    rcall('LREM', 'rq:queue:' .. p.queue, 0, id)
    note('taken out of its queue')
  end
end

local function leave_delayed()
  if rcall('ZREM', SCHEDULED, id) == 1 then note('taken out of the delayed jobs') end
end

local function leave_waiting()
  if leave_rooms(id, p) then note('taken out of a waiting room') end
end

local function drop_leftovers()
  if leave_flight(id, p) then note('its leftover lease dropped') end
end
