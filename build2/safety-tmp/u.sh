#!/bin/sh
cd /lab
"$LAB_SOURCE/tests/lab/unpause.test"
