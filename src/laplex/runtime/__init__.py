"""What the package needs of the machine: files, processes, progress bars. Nothing here knows about words."""
