"""The lab: pages on which the library can be seen at work. One file per page; what they show is the library's."""
