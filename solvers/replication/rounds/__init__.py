"""Cut batches into rounds that fit limited disks, in two stages or by hierarchy."""
