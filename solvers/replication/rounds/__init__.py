"""Limited disks: batches cut into rounds that fit, in two stages or by hierarchy."""
