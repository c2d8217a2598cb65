"""x"""
from rosenblatt.rules._registry import NO_SHRINK, STEPS, Seen, rule, step
from rosenblatt.rules.rosenblatt import Rosenblatt
