-- epoch_mark: the next of the marks that Redis and the database both note down. One whose mark is far behind what the
-- database knows was set back to an older state of its own, and gets another name: it is not what it was.
-- ARGV: prefix, proposal, known (the database's mark), most_behind (marks that a crash or a failover may cost)
-- Answers: the epoch, the mark that stands now.
-- @include args keys
arg_count(4)
local proposal, known, most_behind = arg_text(2, 'proposal'), arg_int(3, 'known', 0), arg_int(4, 'most_behind', 0)
local mark = tonumber(rcall('GET', k('cell', 'mark')) or '') or 0
if mark + most_behind < known then
  rcall('SET', k('cell', 'epoch'), proposal)
else
  rcall('SETNX', k('cell', 'epoch'), proposal)
end
local next_mark = math.max(mark, known) + 1
rcall('SET', k('cell', 'mark'), string.format('%d', next_mark))
return {rcall('GET', k('cell', 'epoch')), next_mark}
