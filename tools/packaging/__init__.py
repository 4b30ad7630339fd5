"""What tools/packages is made of: see there."""
