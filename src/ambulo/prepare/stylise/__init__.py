"""From one take to others: operators that lean, limp, stride, swing the arms and change the tempo (S0.67)."""
