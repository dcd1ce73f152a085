-- mend: puts a job's id where its status says that it belongs, and nowhere else. Looks and writes in one step, so a job
-- that moved on since somebody found it wrong is left alone. Jobs that are not ours are, too.
-- ARGV: prefix, id, has_letter (1/0: its death is in the database), queue... (looked into besides its own)
-- Answers: what was done, a text for each; nothing when nothing was wrong.
-- Events: as settle.
-- @include args keys clock iso counters ring queue lease batch death outcome kept orphan mending
arg_count(3, 1)
local has_letter = arg_flag(3, 'has_letter')
id = arg_text(2, 'id')
p = places(id, {unpack(ARGV, 4)})
local own = 'rq:queue:' .. p.queue

local belongs = {}

function belongs.queued()
  drop_leftovers()
  leave_delayed()
  leave_waiting()
  local extra = p.entries[p.queue] - 1
  if extra < 0 then
    rcall('LPUSH', own, id) -- first, as it has waited long; since when, its record still says
    rcall('SADD', 'rq:queues', own)
    rcall('HSET', 'rq:job:' .. id, 'jo_front', '1')
    note('put back into its queue')
  elseif extra > 0 then
    rcall('LREM', own, -extra, id) -- its first place stays
    note('taken out of ' .. extra .. ' more places in its queue')
  end
end

function belongs.rate_limited()
  if p.waits == '' then
    rcall('HSET', 'rq:job:' .. id, 'status', 'queued') -- at which gate nobody knows: it will meet its gates anew
    return belongs.queued()
  end
  drop_leftovers()
  leave_queue()
  leave_delayed()
  if leave_rooms(id, p, p.waits) then note('taken out of a waiting room') end
  if stay_in_room(id, p) then note('put back into the waiting room of ' .. p.waits) end
end

function belongs.scheduled()
  drop_leftovers()
  leave_queue()
  leave_waiting()
  if not p.delayed then
    rcall('ZADD', SCHEDULED, p.due / 1000, id)
    note('put back among the delayed jobs')
  end
end

function belongs.started()
  leave_queue()
  leave_delayed()
  leave_waiting()
  local did = stay_in_flight(id, p)
  if did then note(did) end
end

function belongs.finished()
  drop_leftovers()
  leave_queue()
  leave_delayed()
  leave_waiting()
end
belongs.canceled = belongs.finished
belongs.stopped = belongs.finished

function belongs.failed()
  belongs.finished()
  if p.died and not has_letter and not rcall('ZSCORE', k('dead'), id .. ':' .. p.attempt) then
    rcall('PERSIST', 'rq:job:' .. id)
    rcall('ZADD', 'rq:failed:' .. p.queue, '+inf', id)
    rcall('ZADD', k('dead'), p.died, id .. ':' .. p.attempt)
    note('put back into the dead intake')
  end
end

if p.type == '' or p.queue == '' or not belongs[p.status] then return done end
leave_other_queues()
belongs[p.status]()
if #done > 0 then
  note_oldest(p.slug, p.lane)
  ring_enter_all(p.slug)
end
return done
