"""What a run's settled calls amount to, kept as counters: the facts that the detectors of profile `balanced` see."""

from loopguard.course.course import LIKENESS, Course
from loopguard.course.lineage import Lineage
from loopguard.course.moment import Count, Moment
from loopguard.course.novelty import News

__all__ = ["LIKENESS", "Count", "Course", "Lineage", "Moment", "News"]
