-- settle: ends a lease with an outcome and, when asked, claims the next job in the same step.
-- ARGV: prefix, slot, seq, job, token, kind (succeeded|failed|discarded|released|postponed), cause (of a postponed one:
--       brake or ''), error_class, error, brief, traceback, delay_ms, result, worker, next_token, block_ms, lane...
--       (no lane: no claim)
-- Answers: {closed} or {outcome, none|job|'', wait_ms or record}; outcome: succeeded, retry, dead, discarded, released,
--          postponed, stopped (somebody stopped it), stale (another token holds it, or the lease ended: nothing
--          changed). The same seq gets the same answer.
-- Events: wake-up tokens; a member in the dead intake, or the outcome of a watched job.
-- @include args keys relief clock iso counters ring queue lease batch death outcome kept finish take claim request
-- @late bucket parked gate turns room release unpark meet pass idle
-- @late let_go batch bury outcome kept fail stopped postpone give_up
arg_count(16, 1)
local slot, seq, job, token, kind = arg_text(2, 'slot'), arg_int(3, 'seq', 1), ARGV[4], ARGV[5], ARGV[6]
local delay, block, lanes = arg_int(12, 'delay_ms', 0), arg_int(16, 'block_ms', 0), {unpack(ARGV, 17)}
local KINDS = {succeeded = true, failed = true, discarded = true, released = true, postponed = true}
if not KINDS[kind] then arg_refuse(6, 'kind', 'succeeded, failed, discarded, released or postponed') end
if #lanes > 0 then arg_text(15, 'next_token') end

put_off()
local asked, s = request(slot, seq)
if asked == 'closed' then return {'closed'} end
local outcome, lease = s[5], nil
if asked == 'new' then
  lease = read_lease(job)
  -- Whoever takes it out of the leases ends it. It is the first write, and needs no memory.
  if lease and lease.token == token and rcall('ZREM', k('leases'), job) == 1 then
    lease.settling, still_busy[lease.tenant] = true, true
    lane_of(lease.lane, 'average:' .. lease.type, 'paused', 'lane_vnow', 'lane_level', 'type_gates', 'parked', 'lanes')
    outcome = finish(lease, {kind = kind, cause = ARGV[7], error_class = ARGV[8], error = ARGV[9], brief = ARGV[10],
      traceback = ARGV[11], delay = delay, result = ARGV[13]}, true)
  else
    outcome, lease = 'stale', nil
  end
end
if not lease then needs_no_memory() end
local record, wait
if asked == 'same' then record = same_claim(s) end
if #lanes > 0 and not record then record, wait = claim(slot, ARGV[14], ARGV[15], lanes, block, s[6] == '1') end
write_all()
if asked == 'new' or #lanes > 0 then answer(slot, seq, outcome, record, wait and wait > 0, s) end
if lease and not (record and record[3] == lease.tenant) then leave_busy(lease.tenant) end
wake_all()
if #lanes == 0 then return {outcome, '', 0} end
if record then return {outcome, 'job', record} end
return {outcome, 'none', wait}
