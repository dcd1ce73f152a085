"""The drain clock: due times, pauses, how a group stands, forecasts and the report."""
