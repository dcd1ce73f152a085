-- Leases that end without their jobs.
-- @include lease

-- A leftover lease: nothing ends with it, but what it held is free.
local function let_go(lease)
  drop_lease(lease)
  ring_enter_all(lease.tenant, false, nil, lease.gates)
end
