# Fails when the committed reference pages are not what the program would write.
execute_process(COMMAND ${PROGRAM} doc --write ${FRESH} RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "drom doc --write exited ${code}")
endif()
execute_process(COMMAND diff -ru ${PAGES} ${FRESH} RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "docs/reference/ has drifted from the option specs: run ./dev docs")
endif()
