-- batch_tell: how members ended that were not told of: their record was lost, or they never came to Redis.
-- ARGV: prefix, batch, how, member...
--       how: succeeded, discarded, cancelled or lost (it ends so, if it stands anywhere), dead or dropped (it stands
--       there from now on, if it stands anywhere), withdrawn (cancelled before it came to Redis: counts once as that)
-- Answers: of how many something changed.
-- @include args keys clock batch
arg_count(3, 1)
local batch, how, changed = arg_text(2, 'batch'), ARGV[3], 0
local ENDS = {succeeded = 'succeeded', discarded = 'discarded', cancelled = 'cancelled', lost = 'lost',
  withdrawn = 'cancelled'}
if not ENDS[how] and how ~= 'dead' and how ~= 'dropped' then
  arg_refuse(3, 'how', 'succeeded, discarded, cancelled, lost, dead, dropped or withdrawn')
end

local function came(id)
  return rcall('EXISTS', k('pushed', id)) == 1 or rcall('EXISTS', 'rq:job:' .. id) == 1
end

local function told(member)
  if how == 'withdrawn' then return not came(member) and rcall('SADD', k('batch', batch, 'withdrawn'), member) == 1 end
  if not ENDS[how] then
    return rcall('SISMEMBER', k('batch', batch, how), member) == 0 and batch_move(batch, member, how)
  end
  return batch_leave(batch, member)
end

for i = 4, #ARGV do
  if told(ARGV[i]) then
    changed = changed + 1
    if ENDS[how] then rcall('HINCRBY', k('batch', batch, 'ended'), ENDS[how], 1) end
  end
end
if changed > 0 then batch_changed(batch) end
return changed
