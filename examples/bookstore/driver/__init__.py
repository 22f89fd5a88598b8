"""The load: clients with the mixes of TPC-W."""
