"""The learner on a stream: one example at a time, files larger than memory, what is kept between passes."""
