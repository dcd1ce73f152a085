-- epoch: the cell's random name. A different one than before tells that Redis was flushed or restored.
-- ARGV: prefix, proposal
-- Answers: the epoch.
-- @include args keys
arg_count(2)
rcall('SETNX', k('cell', 'epoch'), arg_text(2, 'proposal'))
return rcall('GET', k('cell', 'epoch'))
