-- whereabouts: everywhere that these jobs' ids stand, at one instant. Changes nothing.
-- ARGV: prefix, how many queues, queue... (looked into besides each job's own), id...
-- Answers: for each id {id, status ('' no record), tenant, lane, flat pairs of queue and how often it stands there,
--          in leases (1/0), has a lease's hash (1/0), delayed (1/0), deaths not taken yet, in flight (1/0), in RQ's
--          started registry (1/0), gates in whose waiting it stands, in its queue's held (1/0),
--          the gate that its record says it waits for ('' none)}
-- @include args keys clock ring queue places
arg_count(3, 1)
local count = arg_int(2, 'queues', 0)
if #ARGV < 3 + count then error('arguments: ' .. #ARGV .. ' were given, that is fewer than the queues', 0) end
local queues, answers = {unpack(ARGV, 3, 2 + count)}, {}
local function flag(value) return value and 1 or 0 end
for i = 3 + count, #ARGV do
  local p, lists = places(ARGV[i], queues), {}
  for queue, times in pairs(p.entries) do
    if times > 0 then
      lists[#lists + 1] = queue
      lists[#lists + 1] = times
    end
  end
  answers[#answers + 1] = {ARGV[i], p.status, p.slug, p.lane, lists, flag(p.lease), flag(p.lease_hash),
    flag(p.delayed), p.deaths, flag(p.inflight), flag(p.wip[1]), p.rooms, flag(p.held), p.waits}
end
return answers
